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

bool SparseFactor::factor(const Lines &columns) {
    const int size = columns.count();
    row_.clear();
    column_.clear();
    pivot_.clear();
    lower_columns_.clear();
    upper_rows_.clear();
    row_step_.assign(size, -1);
    column_step_.assign(size, -1);
    take_singletons(columns, transposed(columns, size));
    if (this->size() < size && !take_rest(columns)) return false;
    for (double &pivot : pivot_) {
        if (!(std::abs(pivot) > kSingular)) return false;
        pivot = 1.0 / pivot;
    }
    for (int &row : lower_columns_.index) row = row_step_[row];
    for (int &column : upper_rows_.index) column = column_step_[column];
    lower_rows_ = transposed(lower_columns_, size);
    upper_columns_ = transposed(upper_rows_, size);
    return true;
}

void SparseFactor::take(int row, int column, double pivot) {
    row_step_[row] = column_step_[column] = size();
    row_.push_back(row);
    column_.push_back(column);
    pivot_.push_back(pivot);
}

void SparseFactor::take_singletons(const Lines &columns, const Lines &rows) {
    const int size = columns.count();
    std::vector<int> in_row(size), in_column(size);  // elements left
    for (int j = 0; j < size; ++j) in_column[j] = columns.start[j + 1] - columns.start[j];
    std::vector<int> single_columns, single_rows;
    for (int j = 0; j < size; ++j)
        if (in_column[j] == 1) single_columns.push_back(j);
    for (size_t next = 0; next < single_columns.size(); ++next) {
        const int column = single_columns[next];
        int at = columns.start[column];
        while (at < columns.start[column + 1] && row_step_[columns.index[at]] >= 0) ++at;
        if (at == columns.start[column + 1]) continue;  // another column took the row: singular
        const int row = columns.index[at];
        take(row, column, columns.value[at]);
        for (int k = rows.start[row]; k < rows.start[row + 1]; ++k) {
            const int other = rows.index[k];
            if (column_step_[other] >= 0) continue;
            upper_rows_.put(other, rows.value[k]);
            if (--in_column[other] == 1) single_columns.push_back(other);
        }
        upper_rows_.close();
        lower_columns_.close();
    }
    for (int i = 0; i < size; ++i) {
        if (row_step_[i] >= 0) continue;
        in_row[i] = 0;
        for (int k = rows.start[i]; k < rows.start[i + 1]; ++k) in_row[i] += column_step_[rows.index[k]] < 0;
        if (in_row[i] == 1) single_rows.push_back(i);
    }
    for (size_t next = 0; next < single_rows.size(); ++next) {
        const int row = single_rows[next];
        int at = rows.start[row];
        while (at < rows.start[row + 1] && column_step_[rows.index[at]] >= 0) ++at;
        if (at == rows.start[row + 1]) continue;
        const int column = rows.index[at];
        const double pivot = rows.value[at];
        take(row, column, pivot);
        upper_rows_.close();
        for (int k = columns.start[column]; k < columns.start[column + 1]; ++k) {
            const int other = columns.index[k];
            if (row_step_[other] >= 0) continue;
            lower_columns_.put(other, columns.value[k] / pivot);
            if (--in_row[other] == 1) single_rows.push_back(other);
        }
        lower_columns_.close();
    }
}

// Each pivot is in a column with the fewest elements left, there in the row with the fewest among those large enough.
bool SparseFactor::take_rest(const Lines &columns) {
    struct Element {
        int row;
        double value;
    };
    const int size = columns.count();
    std::vector<int> left;  // columns
    std::vector<std::vector<Element>> column(size);
    std::vector<std::vector<int>> of_row(size);  // columns that have or had an element there
    for (int j = 0; j < size; ++j) {
        if (column_step_[j] >= 0) continue;
        left.push_back(j);
        for (int k = columns.start[j]; k < columns.start[j + 1]; ++k) {
            const int row = columns.index[k];
            if (row_step_[row] >= 0) continue;
            column[j].push_back({row, columns.value[k]});
            of_row[row].push_back(j);
        }
    }
    std::vector<int> at(size, -1);        // by row: its place in the column at hand
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
        take(pivot_row, pivot_column, pivot);
        for (const Element &element : own)
            if (element.row != pivot_row) lower_columns_.put(element.row, element.value / pivot);
        lower_columns_.close();
        for (int other : of_row[pivot_row]) {
            if (column_step_[other] >= 0) continue;
            std::vector<Element> &elements = column[other];
            const auto found = std::find_if(elements.begin(), elements.end(),
                                            [&](const Element &e) { return e.row == pivot_row; });
            if (found == elements.end()) continue;
            const double factor = found->value;
            *found = elements.back();
            elements.pop_back();
            upper_rows_.put(other, factor);
            if (own.size() == 1) continue;
            for (size_t e = 0; e < elements.size(); ++e) at[elements[e].row] = static_cast<int>(e);
            for (int k = lower_columns_.start[step]; k < lower_columns_.start[step + 1]; ++k) {
                const int row = lower_columns_.index[k];
                const double change = -lower_columns_.value[k] * factor;
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

// Numbers by pivot, and which of them are not 0.
class SparseFactor::Work {
  public:
    explicit Work(int size) : words_((size + 63) / 64) {
        static thread_local std::vector<double> values;  // zeros between uses
        static thread_local std::vector<uint64_t> bits;
        if (values.size() < static_cast<size_t>(size)) values.resize(size, 0.0);
        bits.assign(words_, 0);
        value_ = values.data();
        bits_ = bits.data();
    }
    void put(int step, double value) {
        value_[step] = value;
        bits_[step >> 6] |= uint64_t{1} << (step & 63);
    }
    void add(int step, double value) { put(step, value_[step] + value); }
    // visit(step, value) in the order of pivots; what it adds comes later in that order.
    template <class Visit> void forwards(const Visit &visit) {
        for (int word = 0; word < words_; ++word)
            for (uint64_t left = bits_[word]; left != 0;) {
                const int bit = __builtin_ctzll(left), step = word * 64 + bit;
                visit(step, value_[step]);
                left = bit == 63 ? 0 : bits_[word] & (~uint64_t{0} << (bit + 1));
            }
    }
    // Likewise against that order.
    template <class Visit> void backwards(const Visit &visit) {
        for (int word = words_ - 1; word >= 0; --word)
            for (uint64_t left = bits_[word]; left != 0;) {
                const int bit = 63 - __builtin_clzll(left), step = word * 64 + bit;
                visit(step, value_[step]);
                left = bits_[word] & ((uint64_t{1} << bit) - 1);
            }
    }

  private:
    int words_;
    double *value_;
    uint64_t *bits_;
};

void SparseFactor::solve(double *vector) const {
    const int size = this->size();
    Work work(size);
    for (int row = 0; row < size; ++row)
        if (vector[row] != 0.0) work.put(row_step_[row], vector[row]);
    work.forwards([&](int step, double amount) {
        for (int e = lower_columns_.start[step]; e < lower_columns_.start[step + 1]; ++e)
            work.add(lower_columns_.index[e], -lower_columns_.value[e] * amount);
    });
    std::fill(vector, vector + size, 0.0);
    work.backwards([&](int step, double &value) {
        const double amount = value * pivot_[step];
        for (int e = upper_columns_.start[step]; e < upper_columns_.start[step + 1]; ++e)
            work.add(upper_columns_.index[e], -upper_columns_.value[e] * amount);
        vector[column_[step]] = amount;
        value = 0.0;
    });
}

void SparseFactor::solve_transposed(double *vector) const {
    const int size = this->size();
    Work work(size);
    for (int column = 0; column < size; ++column)
        if (vector[column] != 0.0) work.put(column_step_[column], vector[column]);
    work.forwards([&](int step, double &value) {
        const double amount = value *= pivot_[step];
        for (int e = upper_rows_.start[step]; e < upper_rows_.start[step + 1]; ++e)
            work.add(upper_rows_.index[e], -upper_rows_.value[e] * amount);
    });
    std::fill(vector, vector + size, 0.0);
    work.backwards([&](int step, double &value) {
        const double amount = value;
        for (int e = lower_rows_.start[step]; e < lower_rows_.start[step + 1]; ++e)
            work.add(lower_rows_.index[e], -lower_rows_.value[e] * amount);
        vector[row_[step]] = amount;
        value = 0.0;
    });
}
