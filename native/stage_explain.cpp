// StageProblem::explain: what a person gets to see of a problem that has no optimum.
#include "stage_problem.hpp"

#include <numeric>

#include "interfaces/highs_c_api.h"

namespace {

void find_conflict(void *highs, int columns, int rows, std::vector<int> &conflict_rows,
                   std::vector<int> &conflict_columns) {
    Highs_setIntOptionValue(highs, "iis_strategy", kHighsIisStrategyFromLpRowPriority);
    HighsInt column_count = 0, row_count = 0;
    std::vector<HighsInt> column(columns), row(rows), column_bound(columns), row_bound(rows),
        column_status(columns), row_status(rows);
    if (Highs_getIis(highs, &column_count, &row_count, column.data(), row.data(), column_bound.data(),
                     row_bound.data(), column_status.data(), row_status.data()) == kHighsStatusError)
        return;
    conflict_rows.assign(row.begin(), row.begin() + row_count);
    for (int k = 0; k < column_count; ++k)  // a column is in conflict by a bound; a free one only connects
        if (column_bound[k] != kHighsIisBoundFree) conflict_columns.push_back(column[k]);
}

}  // namespace

std::string StageProblem::explain(const double *state, const double *noise,
                                  const std::vector<std::string> &row_names,
                                  const std::vector<std::string> &column_names, const std::string &path,
                                  std::vector<int> &conflict_rows, std::vector<int> &conflict_columns) {
    Worker worker(data_, cuts_, options_);
    std::vector<int> every(cuts());
    std::iota(every.begin(), every.end(), data_.planes.count());
    worker.choose_rows(every);
    worker.solve(state, noise, {});
    const int named = data_.rows() + data_.planes.count(), rows = data_.rows() + extras();
    for (int j = 0; j < data_.columns(); ++j) Highs_passColName(worker.highs, j, column_names[j].c_str());
    for (int i = 0; i < rows; ++i) {
        const std::string name =
            i < named ? row_names[i] : "cut_" + std::to_string(i - named);
        Highs_passRowName(worker.highs, i, name.c_str());
    }
    if (!path.empty() && Highs_writeModel(worker.highs, path.c_str()) == kHighsStatusError)
        return "the problem could not be written to " + path;
    if (worker.status == kHighsModelStatusInfeasible)
        find_conflict(worker.highs, data_.columns(), rows, conflict_rows, conflict_columns);
    return "";
}
