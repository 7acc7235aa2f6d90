// SparseFactor: pivots by Markowitz's count, all in a fixed order.
#include "sparse_factor.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr double kSingular = 1e-11;
constexpr double kStable = 0.1;    // a pivot's least share of the largest element of its column
constexpr double kNothing = 1e-14;  // an element below it is rounding

}  // namespace

Lines transposed(const Lines &lines, int count) {
    Lines result;
    result.start.assign(count + 1, 0);
    for (int at : lines.index) ++result.start[at + 1];
    for (int i = 0; i < count; ++i) result.start[i + 1] += result.start[i];
    result.index.resize(lines.index.size());
    result.value.resize(lines.value.size());
    std::vector<int> next(result.start.begin(), result.start.end() - 1);
    for (int line = 0; line < lines.count(); ++line)
        for (int k = lines.start[line]; k < lines.start[line + 1]; ++k) {
            const int place = next[lines.index[k]]++;
            result.index[place] = line;
            result.value[place] = lines.value[k];
        }
    return result;
}

// What has no pivot yet.
struct SparseFactor::Nucleus {
    std::vector<int> in_row, in_column;    // elements left
    std::vector<int> row_step, column_step;  // pivot of a row and column, or -1
};

bool SparseFactor::factor(const Lines &columns) {
    const int size = columns.count();
    row_.clear();
    column_.clear();
    pivot_.clear();
    steps_.clear();
    lower_.clear();
    upper_rows_.clear();
    Nucleus nucleus;
    nucleus.row_step.assign(size, -1);
    nucleus.column_step.assign(size, -1);
    take_singletons(columns, transposed(columns, size), nucleus);
    if (this->size() < size && !take_rest(columns, nucleus)) return false;
    for (double pivot : pivot_)
        if (!(std::abs(pivot) > kSingular)) return false;
    for (double &pivot : pivot_) pivot = 1.0 / pivot;
    for (int &row : lower_.index) row = nucleus.row_step[row];
    for (int &column : upper_rows_.index) column = nucleus.column_step[column];
    upper_columns_ = transposed(upper_rows_, size);
    return true;
}

void SparseFactor::take_singletons(const Lines &columns, const Lines &rows, Nucleus &nucleus) {
    const int size = columns.count();
    std::vector<int> &in_row = nucleus.in_row, &in_column = nucleus.in_column;
    std::vector<int> &row_step = nucleus.row_step, &column_step = nucleus.column_step;
    for (int i = 0; i < size; ++i) {
        in_row.push_back(rows.start[i + 1] - rows.start[i]);
        in_column.push_back(columns.start[i + 1] - columns.start[i]);
    }
    std::vector<int> single_columns, single_rows;
    for (int j = 0; j < size; ++j)
        if (in_column[j] == 1) single_columns.push_back(j);
    const auto take = [&](int row, int column, double pivot) {
        row_step[row] = column_step[column] = this->size();
        row_.push_back(row);
        column_.push_back(column);
        pivot_.push_back(pivot);
    };
    for (size_t next = 0; next < single_columns.size(); ++next) {
        const int column = single_columns[next];
        int at = columns.start[column];
        while (at < columns.start[column + 1] && row_step[columns.index[at]] >= 0) ++at;
        if (at == columns.start[column + 1]) continue;  // another column took the row: singular
        const int row = columns.index[at];
        take(row, column, columns.value[at]);
        for (int k = rows.start[row]; k < rows.start[row + 1]; ++k) {
            const int other = rows.index[k];
            if (column_step[other] >= 0) continue;
            upper_rows_.put(other, rows.value[k]);
            if (--in_column[other] == 1) single_columns.push_back(other);
        }
        upper_rows_.close();
    }
    for (int i = 0; i < size; ++i) {
        if (row_step[i] >= 0) continue;
        in_row[i] = 0;
        for (int k = rows.start[i]; k < rows.start[i + 1]; ++k) in_row[i] += column_step[rows.index[k]] < 0;
        if (in_row[i] == 1) single_rows.push_back(i);
    }
    for (size_t next = 0; next < single_rows.size(); ++next) {
        const int row = single_rows[next];
        int at = rows.start[row];
        while (at < rows.start[row + 1] && column_step[rows.index[at]] >= 0) ++at;
        if (at == rows.start[row + 1]) continue;
        const int column = rows.index[at];
        const double pivot = rows.value[at];
        take(row, column, pivot);
        upper_rows_.close();
        const size_t before = lower_.index.size();
        for (int k = columns.start[column]; k < columns.start[column + 1]; ++k) {
            const int other = columns.index[k];
            if (row_step[other] >= 0) continue;
            lower_.put(other, columns.value[k] / pivot);
            if (--in_row[other] == 1) single_rows.push_back(other);
        }
        if (lower_.index.size() > before) {
            steps_.push_back(row_step[row]);
            lower_.close();
        }
    }
}

// Each pivot is in a column with the fewest elements left, there in the row with the fewest among those large enough.
bool SparseFactor::take_rest(const Lines &columns, Nucleus &nucleus) {
    struct Element {
        int row;
        double value;
    };
    const int size = columns.count();
    std::vector<int> &row_step = nucleus.row_step, &column_step = nucleus.column_step;
    std::vector<int> left;  // columns
    std::vector<std::vector<Element>> column(size);
    std::vector<std::vector<int>> of_row(size);  // columns that have or had an element there
    for (int j = 0; j < size; ++j) {
        if (column_step[j] >= 0) continue;
        left.push_back(j);
        for (int k = columns.start[j]; k < columns.start[j + 1]; ++k) {
            const int row = columns.index[k];
            if (row_step[row] >= 0) continue;
            column[j].push_back({row, columns.value[k]});
            of_row[row].push_back(j);
        }
    }
    std::vector<int> at(size, -1);        // by row: its place in the column at hand
    std::vector<double> multiplier(size, 0.0);
    while (!left.empty()) {
        size_t chosen = 0;
        for (size_t c = 1; c < left.size() && column[left[chosen]].size() > 1; ++c)
            if (column[left[c]].size() < column[left[chosen]].size()) chosen = c;
        const int pivot_column = left[chosen];
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
        std::vector<Element> &own = column[pivot_column];
        double largest = 0.0;
        for (const Element &element : own) largest = std::max(largest, std::abs(element.value));
        if (!(largest > kSingular)) return false;
        const Element *best = nullptr;
        for (const Element &element : own) {
            if (std::abs(element.value) < kStable * largest) continue;
            if (best && of_row[element.row].size() >= of_row[best->row].size()) continue;
            best = &element;
        }
        const int pivot_row = best->row, step = this->size();
        const double pivot = best->value;
        row_step[pivot_row] = column_step[pivot_column] = step;
        row_.push_back(pivot_row);
        column_.push_back(pivot_column);
        pivot_.push_back(pivot);
        for (const Element &element : own)
            if (element.row != pivot_row) lower_.put(element.row, element.value / pivot);
        const bool has_multipliers = own.size() > 1;
        if (has_multipliers) {
            steps_.push_back(step);
            lower_.close();
        }
        for (int other : of_row[pivot_row]) {
            if (column_step[other] >= 0) continue;
            std::vector<Element> &elements = column[other];
            const auto found = std::find_if(elements.begin(), elements.end(),
                                            [&](const Element &e) { return e.row == pivot_row; });
            if (found == elements.end()) continue;
            const double factor = found->value;
            *found = elements.back();
            elements.pop_back();
            upper_rows_.put(other, factor);
            if (!has_multipliers) continue;
            for (size_t e = 0; e < elements.size(); ++e) at[elements[e].row] = static_cast<int>(e);
            const int from = lower_.start[lower_.count() - 1], to = lower_.start[lower_.count()];
            for (int k = from; k < to; ++k) {
                const int row = lower_.index[k];
                const double change = -lower_.value[k] * factor;
                if (at[row] >= 0) {
                    elements[at[row]].value += change;
                } else {
                    elements.push_back({row, change});
                    of_row[row].push_back(other);
                }
            }
            size_t kept = 0;
            for (const Element &element : elements) {
                at[element.row] = -1;
                if (std::abs(element.value) > kNothing) elements[kept++] = element;
            }
            elements.resize(kept);
        }
        upper_rows_.close();
        own.clear();
        of_row[pivot_row].clear();
    }
    return true;
}

void SparseFactor::solve(double *vector) const {
    static thread_local std::vector<double> work;
    const int size = this->size();
    work.resize(std::max<size_t>(work.size(), size));
    for (int step = 0; step < size; ++step) work[step] = vector[row_[step]];
    for (size_t k = 0; k < steps_.size(); ++k) {
        const double amount = work[steps_[k]];
        if (amount == 0.0) continue;
        for (int e = lower_.start[k]; e < lower_.start[k + 1]; ++e) work[lower_.index[e]] -= lower_.value[e] * amount;
    }
    for (int step = size - 1; step >= 0; --step) {
        if (work[step] == 0.0) continue;
        const double amount = work[step] *= pivot_[step];
        for (int e = upper_columns_.start[step]; e < upper_columns_.start[step + 1]; ++e)
            work[upper_columns_.index[e]] -= upper_columns_.value[e] * amount;
    }
    for (int step = 0; step < size; ++step) vector[column_[step]] = work[step];
}

void SparseFactor::solve_transposed(double *vector) const {
    static thread_local std::vector<double> work;
    const int size = this->size();
    work.resize(std::max<size_t>(work.size(), size));
    for (int step = 0; step < size; ++step) work[step] = vector[column_[step]];
    for (int step = 0; step < size; ++step) {
        if (work[step] == 0.0) continue;
        const double amount = work[step] *= pivot_[step];
        for (int e = upper_rows_.start[step]; e < upper_rows_.start[step + 1]; ++e)
            work[upper_rows_.index[e]] -= upper_rows_.value[e] * amount;
    }
    for (size_t k = steps_.size(); k-- > 0;) {
        double sum = 0.0;
        for (int e = lower_.start[k]; e < lower_.start[k + 1]; ++e) sum += lower_.value[e] * work[lower_.index[e]];
        work[steps_[k]] -= sum;
    }
    for (int step = 0; step < size; ++step) vector[row_[step]] = work[step];
}
