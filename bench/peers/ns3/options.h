// The options of a program: read from the command line, and repeated in its output.

#pragma once

#include "json.h"

#include "ns3/command-line.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rng-seed-manager.h"

#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace peer {

// A fault of the user's: says so and leaves.
[[noreturn]] inline void Fail(const std::string& message) {
    std::cerr << "error: " << message << '\n';
    std::exit(2);
}

class Options {
  public:
    explicit Options(const std::string& usage) {
        m_command_line.Usage(usage);
        Add("seed", "which substream of the random numbers", m_seed);
    }

    void Add(const std::string& name, const std::string& help, double& value) {
        m_command_line.AddValue(name, help, value);
        m_writers.push_back([name, &value](Json& json) { json.Number(name, value); });
    }

    void Add(const std::string& name, const std::string& help, uint32_t& value) {
        m_command_line.AddValue(name, help, value);
        m_writers.push_back([name, &value](Json& json) { json.Count(name, value); });
    }

    void Add(const std::string& name, const std::string& help, std::string& value) {
        m_command_line.AddValue(name, help, value);
        m_writers.push_back([name, &value](Json& json) { json.Text(name, value); });
    }

    // Takes `--name=value`, as ns-3 has it, and `-name value`, as the ns-2 scripts do.
    void Parse(int argc, char* argv[]) {
        std::vector<std::string> words{argv[0]};
        for (int i = 1; i < argc; i++) {
            const std::string word = argv[i];
            const bool pair = word[0] == '-' && word[1] != '-' && i + 1 < argc;
            words.push_back(pair ? '-' + word + '=' + argv[++i] : word);
        }
        m_command_line.Parse(words);
        ns3::RngSeedManager::SetRun(m_seed);
    }

    // What every output begins with.
    Json Result() const {
        Json parameters;
        for (const auto& write : m_writers) {
            write(parameters);
        }
        return Json().Text("simulator", "ns-" NS3_VERSION).Object("parameters", parameters);
    }

  private:
    uint32_t m_seed = 1;
    ns3::CommandLine m_command_line;
    std::vector<std::function<void(Json&)>> m_writers;
};

// A stream of random numbers for one purpose.
template <typename Variable>
ns3::Ptr<Variable> RandomStream(int64_t purpose) {
    auto variable = ns3::CreateObject<Variable>();
    variable->SetStream(purpose);
    return variable;
}

} // namespace peer
