// The linear start: what each feature adds alone, before any rule is searched for.
#pragma once

#include <vector>

#include "rules/fired_rules.h"
#include "rules/path_rows.h"

namespace ferl::rules {

// Full ramps, single categories or words; the condition that gains most over the prior by itself comes first.
std::vector<SignedRule> linear_rules(const Task& task, const PathRows& rows);

}  // namespace ferl::rules
