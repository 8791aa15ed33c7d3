//! Pages: an index and the objects embedded in it.

use std::sync::Arc;

use shortflow_units::{Bytes, Rng};

use crate::{Counts, Sizes};

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its number in the pool, from 0. `None` if it was drawn for one visit.
    pub number: Option<u32>,
    /// The length of its index, which lists the objects. `None` if the client knows the objects beforehand.
    pub index: Option<Bytes>,
    /// The lengths of the objects embedded in it.
    pub objects: Arc<[Bytes]>,
}

impl Page {
    /// Index and objects together.
    pub fn size(&self) -> Bytes {
        self.index.unwrap_or_default() + self.objects.iter().copied().sum()
    }

    /// The number of its parts: the index, if it has one, and the objects.
    pub fn parts(&self) -> usize {
        usize::from(self.index.is_some()) + self.objects.len()
    }
}

/// The distribution of pages.
#[derive(Debug, Clone, PartialEq)]
pub struct PageModel {
    /// Lengths of indexes. `None` if pages consist of objects only.
    pub index: Option<Sizes>,
    /// Numbers of embedded objects; at least one if there is no index.
    pub objects: Counts,
    /// Lengths of embedded objects.
    pub object: Sizes,
    /// The size of the pool of pages, which are visited at random. `None` if each visit is to a new page.
    pub pool: Option<u32>,
}

impl PageModel {
    /// The pages of the workload `name` in a run with this seed.
    pub fn pages(&self, seed: u64, name: &str) -> Pages {
        let Some(count) = self.pool else { return Pages::Fresh(self.clone()) };
        let mut rng = Rng::stream(seed, &format!("workload/{name}/pages"));
        Pages::Pool((0..count).map(|number| self.draw(Some(number), &mut rng)).collect())
    }

    fn draw(&self, number: Option<u32>, rng: &mut Rng) -> Page {
        let index = self.index.as_ref().map(|index| index.draw(rng));
        let objects = self.objects.draw(rng).max(u32::from(index.is_none()));
        Page { number, index, objects: (0..objects).map(|_| self.object.draw(rng)).collect() }
    }
}

/// The pages that can be visited.
#[derive(Debug, Clone, PartialEq)]
pub enum Pages {
    /// Drawn for each visit.
    Fresh(PageModel),
    /// One of these, each equally likely.
    Pool(Arc<[Page]>),
}

impl Pages {
    /// The page of the next visit. Random numbers come from `rng`.
    pub fn visit(&self, rng: &mut Rng) -> Page {
        match self {
            Pages::Fresh(model) => model.draw(None, rng),
            Pages::Pool(pages) => pages[rng.below(pages.len() as u64) as usize].clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The population of Guo et al. 2005, §4.
    fn harp(pool: Option<u32>) -> PageModel {
        let file = Sizes::Pareto { scale: 3000.0, shape: 1.2, max: None };
        let objects = Counts::pareto(2.0, 1.5, None);
        PageModel { index: Some(file.clone()), objects, object: file, pool }
    }

    #[test]
    fn a_pool_is_made_once_and_each_of_its_pages_is_visited_alike() {
        let pages = harp(Some(50)).pages(1, "web");
        assert_eq!(pages, harp(Some(50)).pages(1, "web"));
        assert_ne!(pages, harp(Some(50)).pages(2, "web"));
        let mut rng = Rng::stream(1, "visits");
        let mut visits = [0u32; 50];
        for _ in 0..50_000 {
            let page = pages.visit(&mut rng);
            visits[page.number.unwrap() as usize] += 1;
        }
        assert!(visits.iter().all(|n| (850..=1150).contains(n)), "{visits:?}");
        let Pages::Pool(pool) = &pages else { panic!("a pool") };
        assert_eq!(pages.visit(&mut Rng::stream(1, "v")), {
            let at = Rng::stream(1, "v").below(50) as usize;
            pool[at].clone()
        });
    }

    #[test]
    fn a_fresh_page_is_another_at_each_visit() {
        let pages = harp(None).pages(1, "web");
        let mut rng = Rng::stream(1, "visits");
        let (one, two) = (pages.visit(&mut rng), pages.visit(&mut rng));
        assert_ne!(one, two);
        assert_eq!(one.number, None);
        assert_eq!(one.size(), one.index.unwrap() + one.objects.iter().copied().sum());
        assert_eq!(one.parts(), one.objects.len() + 1);
    }

    #[test]
    fn a_page_without_an_index_has_an_object_at_least() {
        let object = Sizes::Constant(Bytes(10_000));
        let model = PageModel { index: None, objects: Counts::uniform(0, 2), object, pool: None };
        let mut rng = Rng::stream(1, "visits");
        let pages: Vec<Page> = (0..50).map(|_| model.pages(1, "web").visit(&mut rng)).collect();
        let parts: Vec<usize> = pages.iter().map(Page::parts).collect();
        assert!(parts.contains(&1) && parts.contains(&2) && !parts.contains(&0), "{parts:?}");
        assert!(pages.iter().all(|page| page.size() == Bytes(10_000 * page.parts() as u64)));
    }

    #[test]
    fn a_fixed_page_draws_nothing() {
        // The probes of Noureddine & Tobagi 2002, §2.2.1: an index of 1 KB and 8 objects of 10 KB.
        let model = PageModel {
            index: Some(Sizes::Constant(Bytes(1000))),
            objects: Counts::constant(8),
            object: Sizes::Constant(Bytes(10_000)),
            pool: None,
        };
        let (mut rng, mut fresh) = (Rng::stream(1, "x"), Rng::stream(1, "x"));
        let page = model.pages(1, "probe").visit(&mut rng);
        assert_eq!((page.size(), page.objects.len()), (Bytes(81_000), 8));
        assert_eq!(rng.uniform().to_bits(), fresh.uniform().to_bits());
    }
}
