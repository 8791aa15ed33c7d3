/* The types of glibc's argp that elfutils' common code mentions, for a C library without argp such as musl.
 *
 * elfutils builds that code before libelf. libelf calls none of these functions, and they are not in the program. */

#ifndef ARGP_H
#define ARGP_H

#include <errno.h>
#include <stdio.h>

#define ARGP_ERR_UNKNOWN E2BIG
#define ARGP_HELP_SEE 1
#define ARGP_HELP_EXIT_ERR 2
#define OPTION_ARG_OPTIONAL 1
#define OPTION_HIDDEN 2

typedef int error_t;
struct argp_child;
struct argp_state {
  void *input;
  char *name;
};
struct argp_option {
  const char *name;
  int key;
  const char *arg;
  int flags;
  const char *doc;
  int group;
};
struct argp {
  const struct argp_option *options;
  error_t (*parser)(int key, char *arg, struct argp_state *state);
  const char *args_doc;
  const char *doc;
  const struct argp_child *children;
  char *(*help_filter)(int key, const char *text, void *input);
  const char *argp_domain;
};

void argp_help(const struct argp *argp, FILE *stream, unsigned flags, char *name);
void argp_error(const struct argp_state *state, const char *format, ...);

#endif
