#!/bin/sh
# What the guest does: policies on a live line.
export PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root TERM=dumb NO_COLOR=1
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mount -t tmpfs run /run; mkdir -p /run/netns; mount -t bpf bpf /sys/fs/bpf 2>/dev/null
/usr/sbin/ip link set lo up
# One policy's connections take nothing over from those of another.
echo cubic >/proc/sys/net/ipv4/tcp_congestion_control
cd /root
python3 -B live/stock_guest.py task.json
echo END
poweroff -f
