#pragma once
#include <cstdlib>
namespace ferl::wide { inline double knob(const char* name, double value) { const char* given = std::getenv(name); return given ? std::atof(given) : value; } }
