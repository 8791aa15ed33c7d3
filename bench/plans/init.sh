#!/bin/sh
# What the guest does: sets up each tree, and reports by how many KB the kernel's memory grows.
export PATH=/usr/bin:/usr/sbin:/bin:/sbin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp; mount -t tmpfs run /run
for module in veth sch_htb sch_fq_codel; do modprobe $module; done
/usr/sbin/ip link add sf0 type veth peer name sf1
/usr/sbin/ip link set sf0 up; /usr/sbin/ip link set sf1 up
used() { awk '/^(Slab|VmallocUsed|Percpu|PageTables|KernelStack):/ { sum += $2 } END { print sum }' /proc/meminfo; }
for name in 64 default; do
  before=$(used)
  /usr/sbin/tc -batch "/tree-$name" || echo "the kernel refuses the tree $name"
  sleep 2
  echo "RESULT $name $(($(used) - before))"
  /usr/sbin/tc qdisc del dev sf0 root
  sleep 4
done
echo END
poweroff -f
