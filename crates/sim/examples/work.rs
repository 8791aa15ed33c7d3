fn main(){
 let p=std::env::args().nth(1).unwrap();
 let mut o=shortflow_scenario::Overrides::default();
 for a in std::env::args().skip(2) { let (k,v)=a.split_once('=').unwrap(); o.set.push((k.into(),v.into())); }
 let l=match shortflow_scenario::load(std::path::Path::new(&p),&o){Ok(l)=>l,Err(e)=>{println!("{e}");return}};
 let s=&l.points()[0].scenario;
 let t=std::time::Instant::now();
 let o=shortflow_sim::run_replica(s,0,None,|_|true).unwrap();
 let e=t.elapsed().as_secs_f64();
 for p in &o.replica.ports { let f:u64=p.code_points.iter().map(|c|c.forwarded.packets).sum(); let d:u64=p.code_points.iter().map(|c|c.all_dropped().packets).sum(); println!("{} fwd {f} drop {d}",p.name); }
 for w in &o.replica.workloads { println!("{} n {} mean {:?} open {} rtx {} to {}",w.name,w.all.completion.n(),w.all.mean(),w.open,w.retransmissions,w.timeouts); }
 println!("wall {e:.3} hops {} {:.2} Mhops/s",o.totals.hops,o.totals.hops as f64/e/1e6);
}
