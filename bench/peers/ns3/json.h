// A JSON object, written member by member in the order given.

#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace peer {

class Json {
  public:
    Json& Text(const std::string& name, const std::string& value) {
        return Member(name, '"' + value + '"');
    }

    Json& Count(const std::string& name, uint64_t value) {
        return Member(name, std::to_string(value));
    }

    Json& Number(const std::string& name, double value) { return Member(name, Decimal(value)); }

    Json& Numbers(const std::string& name, const std::vector<double>& values) {
        std::string list;
        for (double value : values) {
            list += (list.empty() ? "" : ", ") + Decimal(value);
        }
        return Member(name, '[' + list + ']');
    }

    Json& Object(const std::string& name, const Json& value) {
        return Member(name, value.Written());
    }

    std::string Written() const { return '{' + m_members + '}'; }

  private:
    Json& Member(const std::string& name, const std::string& value) {
        m_members += (m_members.empty() ? "\"" : ", \"") + name + "\": " + value;
        return *this;
    }

    static std::string Decimal(double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.9g", value);
        return text;
    }

    std::string m_members;
};

} // namespace peer
