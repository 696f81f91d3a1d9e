#include <cassert>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

void parse(const std::string &text) {
    std::istringstream in(text);
    std::vector<std::string> levels;
    char next = '[';
    while (in.get(next) && next == '[') {
        levels.push_back(text.substr(levels.size()));
        assert(levels.size() < 3);
    }
    if (next != '[') {
        throw std::invalid_argument(std::string("no level begins with ") + next);
    }
}
