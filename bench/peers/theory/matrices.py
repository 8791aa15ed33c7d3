"""The matrix algebra that Markov chains need."""

Matrix = list[list[float]]
Vector = list[float]


def identity(size: int, scale: float = 1.0) -> Matrix:
    return [[scale if row == column else 0.0 for column in range(size)] for row in range(size)]


def product(left: Matrix, right: Matrix) -> Matrix:
    columns = list(zip(*right))
    return [[dot(row, column) for column in columns] for row in left]


def dot(left, right) -> float:
    return sum(a * b for a, b in zip(left, right))


def added(left: Matrix, right: Matrix, scale: float = 1.0) -> Matrix:
    """left + scale · right."""
    return [[a + scale * b for a, b in zip(*rows)] for rows in zip(left, right)]


def row_times(row: Vector, matrix: Matrix) -> Vector:
    return product([row], matrix)[0]


def inverse(matrix: Matrix) -> Matrix:
    """Gauss-Jordan elimination with the largest pivot of each column first."""
    size = len(matrix)
    rows = [[*row, *unit] for row, unit in zip(matrix, identity(size))]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        top = [value / rows[column][column] for value in rows[column]]
        rows[column] = top
        for index, row in enumerate(rows):
            if index != column and row[column]:
                factor = row[column]
                rows[index] = [value - factor * above for value, above in zip(row, top)]
    return [row[size:] for row in rows]
