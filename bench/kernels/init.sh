#!/bin/sh
# What the guest does: deploys each policy natively and inline, with packets between two hosts, and reports each result as
# `RESULT policy|role|way|state|what`. States: works, refused (by name, with the reason), failed.
export PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root TERM=dumb NO_COLOR=1
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mount -t tmpfs run /run; mkdir -p /run/netns; mount -t bpf bpf /sys/fs/bpf 2>/dev/null
cd /root
/usr/sbin/ip link set lo up

report() { echo "RESULT $1|$2|$3|$4|$(echo "$5" | tr '\n|' '  ' | cut -c1-300)"; }

# Two hosts, near and far. The machine between is this one.
for host in near far; do
  /usr/sbin/ip netns add $host
  /usr/sbin/ip link add to-$host type veth peer name eth0 netns $host
  /usr/sbin/ip link set to-$host up
  /usr/sbin/ip -n $host link set lo up
done
/usr/sbin/ip -n near addr add 10.5.0.1/24 dev eth0
/usr/sbin/ip -n far addr add 10.5.0.2/24 dev eth0
/usr/sbin/ip -n near addr add fd05::1/64 dev eth0 nodad
/usr/sbin/ip -n far addr add fd05::2/64 dev eth0 nodad
for host in near far; do /usr/sbin/ip -n $host link set eth0 up; done
# A delay, where the kernel has it.
/usr/sbin/ip netns exec far /usr/sbin/tc qdisc add dev eth0 root netem delay 5ms 2>/dev/null
/usr/sbin/ip link add bridge0 type bridge forward_delay 0 stp_state 0
for host in near far; do /usr/sbin/ip link set to-$host master bridge0; done
/usr/sbin/ip link set bridge0 up

# Whether the hosts reach each other, over both versions of IP.
reaches() {
  /usr/sbin/ip netns exec near ping -c "$1" -A -W 3 10.5.0.2 >/dev/null 2>&1 &&
    /usr/sbin/ip netns exec near ping -6 -c "$1" -A -W 3 fd05::2 >/dev/null 2>&1
}

for try in 1 2 3 4 5; do reaches 1 && break; sleep 1; done
reaches 2 || { echo "the hosts do not reach each other"; echo END; poweroff -f; }

listing() { /usr/sbin/tc qdisc show dev to-far; /usr/sbin/tc class show dev to-far; /usr/sbin/tc filter show dev to-far; }

native() {
  policy=$1; role=$2; name=$(basename $policy .toml); before=$(listing)
  said=$(shortflow deploy $policy --role $role --dev to-far --rate '10 Mbit/s' 2>&1); code=$?
  case $code in
    0) ;;
    2 | 3) report $name $role native refused "$(echo "$said" | grep -v '^warning' | head -4)"; [ "$before" = "$(listing)" ] || report $name $role native failed "a refusal changed the device"; return ;;
    *) report $name $role native failed "deploy ended with $code: $said"; return ;;
  esac
  reaches 5 || { report $name $role native failed "no packets pass"; shortflow undeploy --dev to-far; return; }
  said=$(shortflow status --dev to-far 2>&1) || { report $name $role native failed "status: $said"; shortflow undeploy --dev to-far; return; }
  said=$(shortflow reload $policy --role $role --dev to-far --rate '9 Mbit/s' 2>&1) || { report $name $role native failed "reload: $said"; shortflow undeploy --dev to-far; return; }
  reaches 3 || { report $name $role native failed "no packets pass after a reload"; shortflow undeploy --dev to-far; return; }
  said=$(shortflow undeploy --dev to-far 2>&1) || { report $name $role native failed "undeploy: $said"; return; }
  [ "$before" = "$(listing)" ] || { report $name $role native failed "undeploy left: $(listing)"; return; }
  report $name $role native works ""
}

inline() {
  policy=$1; role=$2; name=$(basename $policy .toml)
  shortflow -q inline $policy --role $role --between to-near,to-far --rate '10 Mbit/s' --json >/tmp/inline.json 2>/tmp/inline.err &
  router=$!
  for try in $(seq 120); do
    [ -s /tmp/inline.json ] && break
    kill -0 $router 2>/dev/null || break
    sleep 0.5
  done
  if ! kill -0 $router 2>/dev/null; then
    wait $router; code=$?
    case $code in
      2 | 3) report $name $role inline refused "$(head -4 /tmp/inline.err)" ;;
      *) report $name $role inline failed "ended with $code: $(cat /tmp/inline.err)" ;;
    esac
    return
  fi
  reaches 5 || { report $name $role inline failed "no packets pass"; kill -9 $router; wait $router 2>/dev/null; return; }
  sleep 1.2
  packets=$(tail -1 /tmp/inline.json | sed 's/.*"packets":\([0-9]*\).*/\1/')
  kill -9 $router; wait $router 2>/dev/null
  reaches 3 || { report $name $role inline failed "the bridge does not forward after kill -9"; return; }
  grep -q '"packets":[1-9]' /tmp/inline.json || { report $name $role inline failed "packets passed it by: $(tail -1 /tmp/inline.json)"; return; }
  report $name $role inline works ""
}

for policy in policies/*.toml; do
  for role in core edge,core; do native $policy $role; done
  inline $policy edge,core
done
echo END
poweroff -f
