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
  # Which of the two has the queues: the kernel's own, or a program.
  way=""
  /usr/sbin/tc qdisc show dev to-far | grep -q '^qdisc shortflow' && way="BPF qdisc"
  said=$(shortflow status --dev to-far 2>&1) || { report $name $role native failed "status: $said"; shortflow undeploy --dev to-far; return; }
  # Packets while a program gets another plan: none may be lost.
  [ -n "$way" ] && { /usr/sbin/ip netns exec near ping -c 150 -i 0.05 -W 3 10.5.0.2 >/tmp/ping 2>&1 & pings=$!; }
  said=$(shortflow reload $policy --role $role --dev to-far --rate '9 Mbit/s' 2>&1) || { report $name $role native failed "reload: $said"; shortflow undeploy --dev to-far; return; }
  if [ -n "$way" ]; then
    wait $pings
    grep -q '150 packets received' /tmp/ping || { report $name $role native failed "a reload lost packets: $(tail -2 /tmp/ping)"; shortflow undeploy --dev to-far; return; }
  fi
  reaches 3 || { report $name $role native failed "no packets pass after a reload"; shortflow undeploy --dev to-far; return; }
  said=$(shortflow undeploy --dev to-far 2>&1) || { report $name $role native failed "undeploy: $said"; return; }
  [ "$before" = "$(listing)" ] || { report $name $role native failed "undeploy left: $(listing)"; return; }
  report $name $role native works "$way"
}

# Kills the command that deploys a policy, sooner and later: packets pass all the while, and nothing is left when it is taken away.
killed() {
  policy=$1; name=$(basename $policy .toml); before=$(listing)
  for delay in 0.2 0.5 1 1.5 2 3 5; do
    shortflow deploy $policy --role core --dev to-far --rate '10 Mbit/s' --nearest >/dev/null 2>&1 &
    command=$!
    sleep $delay
    kill -9 $command 2>/dev/null; wait $command 2>/dev/null
    reaches 3 || { report $name core killed failed "no packets pass after $delay s"; return; }
    shortflow undeploy --dev to-far >/dev/null 2>&1
    [ "$before" = "$(listing)" ] || { report $name core killed failed "after $delay s undeploy left: $(listing)"; return; }
  done
  report $name core killed works ""
}

inline() {
  policy=$1; role=$2; name=$(basename $policy .toml)
  # What the last one has said would be taken for this one's.
  rm -f /tmp/inline.json
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
  # It reports every second, on a busy machine later.
  for try in $(seq 60); do
    grep -q '"packets":[1-9]' /tmp/inline.json && break
    sleep 0.5
  done
  kill -9 $router; wait $router 2>/dev/null
  reaches 3 || { report $name $role inline failed "the bridge does not forward after kill -9"; return; }
  grep -q '"packets":[1-9]' /tmp/inline.json || { report $name $role inline failed "packets passed it by: $(tail -1 /tmp/inline.json) $(tail -3 /tmp/inline.err)"; return; }
  report $name $role inline works ""
}

# Three streams of the kernel's packet generator: datagrams of 1000 bytes with these bytes of TOS, so many of each, so many
# nanoseconds apart. They pass the queues of to-far.
stream() {
  number=$1; tos=$2; generator=/proc/net/pktgen/to-far@$number
  echo "add_device to-far@$number" >/proc/net/pktgen/kpktgend_$((number % 2))
  for setting in "xmit_mode queue_xmit" "count $3" "pkt_size 1000" "delay $4" "tos $tos" "dst 10.5.0.2" "src_min 10.5.0.1" \
    "src_max 10.5.0.1" "dst_mac $far_mac"; do echo "$setting" >$generator; done
}
load() {
  for thread in 0 1; do echo rem_device_all >/proc/net/pktgen/kpktgend_$thread; done
  stream 0 $1 $4 $5; stream 1 $2 $4 $5; stream 2 $3 $4 $5
  echo start >/proc/net/pktgen/pgctrl
}
# Datagrams that have reached the far host, what the device's queues have dropped, and packets that wait in one of them.
received() { /usr/sbin/ip netns exec far awk '/^Udp:/ { ports = $3 } END { print ports }' /proc/net/snmp; }
dropped() { /usr/sbin/tc -s qdisc show dev to-far | sed -n '/ 5f00: /,/dropped/s/.*(dropped \([0-9]*\),.*/\1/p'; }
waiting() { /usr/sbin/tc -s qdisc show dev to-far | awk -v handle=$1 '$3 == handle { here = 1 } here && /^ backlog/ { print $3 + 0; exit }'; }

# Deploys a policy, sends twice as much as its line, in three streams of which the first is the best protected, and reports
# what was dropped of each. Then it sends less than the line, and reloads meanwhile: what is not dropped arrives.
loaded() {
  policy=$1; name=$(basename $policy .toml); handle=5f01:
  [ $name = sima ] && handle=5f02:
  fail() { report $name core load failed "$1"; shortflow undeploy --dev to-far >/dev/null 2>&1; }
  said=$(shortflow deploy $policy --role core --dev to-far --rate '4 Mbit/s' 2>&1) || { fail "deploy: $said"; return; }
  : >/tmp/waiting
  load $2 $3 $4 500 3000000 &
  generator=$!
  while kill -0 $generator 2>/dev/null; do waiting $handle >>/tmp/waiting; sleep 0.1; done
  wait $generator
  longest=$(sort -n /tmp/waiting | tail -1)
  shortflow status --dev to-far >/tmp/status 2>&1 || { fail "status: $(cat /tmp/status)"; return; }
  drops=$(awk '$1 == "level" { print $4 }' /tmp/status | tail -8 | tr '\n' ' ' | sed 's/ $//')
  all=$(dropped); before=$(received)
  load $2 $3 $4 300 12000000 &
  generator=$!
  sleep 1
  said=$(shortflow reload $policy --role core --dev to-far --rate '4200 kbit/s' 2>&1) || { fail "reload: $said"; return; }
  wait $generator
  sleep 2
  arrived=$(($(received) - before)); missed=$(($(dropped) - all))
  # The generator repeats packets that are reported to it as dropped.
  [ $arrived -le 900 ] && [ $((arrived + missed)) -ge 900 ] || { fail "of 900 packets $arrived arrived and $missed were dropped during a reload"; return; }
  said=$(shortflow undeploy --dev to-far 2>&1) || { fail "undeploy: $said"; return; }
  what="$all dropped${drops:+, by level: $drops}; longest queue $longest"
  case $5 in
    rising) echo $drops | awk '{ for (i = 2; i <= NF; i++) if ($i < $(i - 1)) exit 1; exit !($NF > 0) }' || { fail "$what"; return; } ;;
    precedences) echo $drops | awk '{ exit !($1 > $4 && $4 > $7) }' || { fail "$what"; return; } ;;
    # Never longer; on a busy machine no look may come at the moment when it is longest.
    longest=*) most=${5#longest=}
      [ "$longest" -le $most ] && [ "$longest" -ge $((most - 2)) ] && [ "$all" -gt 0 ] || { fail "$what"; return; } ;;
  esac
  report $name core load works "$what"
}

short_inline=$(sed -n 's/.*short_inline=\([^ ]*\).*/\1/p' /proc/cmdline)
modprobe pktgen
far_mac=$(/usr/sbin/ip -n far -br link show dev eth0 | awk '{ print $3 }')
loaded loaded/wred.toml 28 30 0 rising
loaded loaded/exact.toml 0 0 0 longest=21
loaded policies/three-priority-red.toml 28 30 0 rising
loaded policies/sima.toml 6c 3c 0c precedences

for policy in policies/*.toml; do
  native $policy edge,core
  # Of a short run, the few policies that the machine's command line names are tried inline.
  if [ -n "$short_inline" ]; then
    case ",$short_inline," in *,$(basename $policy .toml),*) inline $policy edge,core ;; esac
    continue
  fi
  native $policy core
  inline $policy edge,core
done
killed policies/shared-priority.toml
echo END
poweroff -f
