//! Alternatives for one field of a match.

/// A list of alternatives, which is never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnyOf<T> {
    first: T,
    others: Box<[T]>,
}

impl<T> AnyOf<T> {
    /// The values of `list`, or `None` if it is empty.
    pub fn from_list(list: impl IntoIterator<Item = T>) -> Option<Self> {
        let mut list = list.into_iter();
        let first = list.next()?;
        Some(AnyOf { first, others: list.collect() })
    }

    /// The values, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Whether `holds` is true for one of the values. One step per value.
    #[inline]
    pub fn any(&self, holds: impl Fn(&T) -> bool) -> bool {
        holds(&self.first) || self.others.iter().any(holds)
    }
}

impl<T> From<T> for AnyOf<T> {
    fn from(value: T) -> Self {
        AnyOf { first: value, others: Box::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_where_it_holds_for_one_of_its_values() {
        let list = AnyOf::from_list([3, 5, 8]).unwrap();
        assert_eq!([3, 4, 8].map(|asked| list.any(|value| *value == asked)), [true, false, true]);
        assert_eq!(list.iter().copied().collect::<Vec<i32>>(), [3, 5, 8]);
        assert_eq!(AnyOf::from_list([7]), Some(AnyOf::from(7)));
        assert_eq!(AnyOf::<i32>::from_list([]), None);
    }
}
