use std::sync::atomic::*; use std::sync::Mutex;
struct P(Mutex<f64>, AtomicUsize);
impl shortflow_study::Progress for P { fn begins(&self,n:usize,k:usize){ eprintln!("{n} to run, {k} kept"); self.1.store(n,Ordering::Relaxed);} fn advanced(&self,s:f64){ let mut g=self.0.lock().unwrap(); let a=*g; *g+=s; if (a/20.0).floor()!=(*g/20.0).floor(){eprint!("{:.0} ",*g);} } }
fn main(){
 let quick=std::env::args().nth(1).as_deref()!=Some("full");
 let stop=AtomicBool::new(false); let p=P(Mutex::new(0.0),AtomicUsize::new(0));
 let t=std::time::Instant::now();
 let dir=std::path::PathBuf::from(std::env::args().nth(2).unwrap_or("/tmp/cm05".into()));
 let r=shortflow_study::reproduce("cm05",&shortflow_study::Options{quick,threads:2,folder:&dir},&stop,&p);
 eprintln!("\n{:?}",t.elapsed());
 match r { Ok(r)=>{ for c in &r.ledger.as_ref().unwrap().claims { println!("{} {:?} {}",c.id,c.verdict,c.claim); for k in &c.checks { println!("    {:?} {} | paper {} | ours {:?} [{:?},{:?}]",k.holds,k.what,k.paper,k.ours,k.low,k.high);} }
   for f in &r.figures { println!("## {}",f.name); for c in &f.curves { println!("  {}: {}",c.label,c.points.iter().map(|(x,e)|format!("{x}={:.3}",e.mean)).collect::<Vec<_>>().join(" ")); } } }
  Err(e)=>println!("{e}") }
}
