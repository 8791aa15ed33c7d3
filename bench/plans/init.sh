#!/bin/sh
# What the guest does: runs the measurement in this machine, which has no other device.
export PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root TERM=dumb NO_COLOR=1
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
for module in veth sch_htb sch_fq_codel sch_ingress cls_bpf cls_u32; do modprobe $module 2>/dev/null; done
cd /root
option() { tr ' ' '\n' </proc/cmdline | grep "^$1=" | cut -d= -f2; }
python3 -B bench/plans --shortflow /usr/bin/shortflow --customers "$(option customers)" --queue "$(option shortflow_queue)" 2>&1
echo END
poweroff -f
