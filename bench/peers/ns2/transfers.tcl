# Request/reply transfers over FullTcp: one connection each, opened by the client; the server
# closes after its reply. Sizes are in packets of 1000 bytes, all full, since FullTcp delays the
# acknowledgement of anything shorter.

set packet_bytes 1000
# Seconds after both ends have closed until their agents may serve again: stray packets are gone.
set linger 1.0

Class Endpoint -superclass Agent/TCP/FullTcp/Newreno

Endpoint instproc belongs_to {transfer} {
    $self instvar transfer_ closed_
    set transfer_ $transfer
    set closed_ 1
}

# Back to a fresh agent, whatever the last connection left.
Endpoint instproc renew {} {
    $self instvar closed_
    set closed_ 0
    $self reset
}

# FullTcp may report this more than once.
Endpoint instproc done {} {
    $self instvar transfer_ closed_
    if {!$closed_} {
        set closed_ 1
        $transfer_ endpoint_closed
    }
}

# FullTcp calls `resume` when the last byte that it was given leaves for the first time: the
# client gives one packet before the handshake and the rest here, so this marks its end.
Class ClientSide -superclass Application
ClientSide instproc resume {} {
    [$self set transfer_] handshake_done
}
ClientSide instproc recv {bytes} {
    [$self set transfer_] reply_bytes $bytes
}

Class ServerSide -superclass Application
ServerSide instproc recv {bytes} {
    [$self set transfer_] request_bytes $bytes
}

# A client's and a server's agent, which carry one transfer after another: making an agent costs
# ns-2 more time than a transfer does.
Class Transfer

Transfer instproc init {cloud client_node server_node} {
    global ns
    $self instvar cloud_ client_ server_
    set cloud_ $cloud
    set client_ [new Endpoint]
    set server_ [new Endpoint]
    $ns attach-agent $client_node $client_
    $ns attach-agent $server_node $server_
    $ns connect $client_ $server_
    foreach {endpoint side} [list $client_ [new ClientSide] $server_ [new ServerSide]] {
        $endpoint belongs_to $self
        $side set transfer_ $self
        $side attach-agent $endpoint
        $side start
    }
}

# Begins `request` packets one way and then `reply` packets back, now.
Transfer instproc begin {request reply} {
    global ns packet_bytes
    $self instvar client_ server_ request_ reply_ awaited_request_ awaited_reply_ open_ends_
    $self instvar start_ handshake_ request_time_ end_
    set request_ $request
    set reply_ $reply
    set awaited_request_ [expr {$request * $packet_bytes}]
    set awaited_reply_ [expr {$reply * $packet_bytes}]
    set open_ends_ 2
    set start_ [$ns now]
    set handshake_ {}
    set request_time_ {}
    set end_ {}
    $client_ renew
    $server_ renew
    $server_ listen
    $client_ advance-bytes $packet_bytes
}

Transfer instproc handshake_done {} {
    global ns packet_bytes
    $self instvar handshake_ request_ client_
    if {$handshake_ ne {}} {
        return
    }
    set handshake_ [$ns now]
    if {$request_ > 1} {
        # Not from inside FullTcp's output routine, which has not yet counted this packet as sent.
        $ns at $handshake_ "$client_ advance-bytes [expr {($request_ - 1) * $packet_bytes}]"
    }
}

Transfer instproc request_bytes {bytes} {
    global ns packet_bytes
    $self instvar request_time_ awaited_request_ server_ reply_
    incr awaited_request_ [expr {-$bytes}]
    if {$awaited_request_ <= 0 && $request_time_ eq {}} {
        set request_time_ [$ns now]
        $server_ sendmsg [expr {$reply_ * $packet_bytes}] MSG_EOF
    }
}

Transfer instproc reply_bytes {bytes} {
    global ns
    $self instvar cloud_ awaited_reply_ start_ handshake_ request_time_ end_ request_ reply_
    $self instvar client_ server_
    incr awaited_reply_ [expr {-$bytes}]
    if {$awaited_reply_ <= 0 && $end_ eq {}} {
        set end_ [$ns now]
        set timeouts [expr {[$client_ set nrexmit_] + [$server_ set nrexmit_]}]
        $cloud_ completed $request_ $reply_ $start_ $handshake_ $request_time_ $end_ $timeouts
    }
}

Transfer instproc endpoint_closed {} {
    global ns linger
    $self instvar open_ends_ cloud_
    if {[incr open_ends_ -1] == 0} {
        $ns at [expr {[$ns now] + $linger}] "$cloud_ take_back $self"
    }
}

# ---- Arrivals and statistics

# Replies of 61 .. 90439 bytes, as packets; equally likely (Casetti & Mellia 2005, Table 2).
set reply_sizes {1 1 1 2 3 5 7 11 20 91}

# Mean bits of a reply on the wire: transfers per second follow from a load.
proc reply_bits {} {
    global reply_sizes
    return [expr {[sum $reply_sizes] / double([llength $reply_sizes]) * 1040 * 8}]
}

# Writes every completed transfer to a file of comma-separated values too, if it has a name.
proc open_records {file} {
    global records
    if {$file ne {}} {
        set records [open $file w]
        puts $records "cloud,start,handshake,request,reply,request_bytes,reply_bytes"
    }
}

# Transfers between one pair of nodes: a Poisson process of `rate` per second until `until`, with
# request sizes drawn from the list `requests`.
Class Cloud

Cloud instproc init {name client_node server_node rate until requests} {
    global settings reply_sizes
    $self instvar name_ client_node_ server_node_ gap_ until_ requests_ arrivals_ sizes_
    $self instvar started_ completed_ idle_ completion_times_ handshake_times_
    $self instvar timeouts_
    set name_ $name
    set client_node_ $client_node
    set server_node_ $server_node
    set gap_ [expr {1.0 / $rate}]
    set until_ $until
    set requests_ $requests
    set started_ 0
    set completed_ 0
    set idle_ {}
    set timeouts_ 0
    set handshake_times_ {}
    foreach size $reply_sizes {
        set completion_times_($size) {}
    }
    set arrivals_ [random_stream $settings(seed)]
    set sizes_ [random_stream $settings(seed)]
    $self schedule
}

Cloud instproc schedule {} {
    global ns
    $self instvar arrivals_ gap_ until_
    set time [expr {[$ns now] + [$arrivals_ exponential $gap_]}]
    if {$time < $until_} {
        $ns at $time "$self arrival"
    }
}

Cloud instproc arrival {} {
    global reply_sizes
    $self instvar client_node_ server_node_ requests_ sizes_ started_ idle_
    set reply [lindex $reply_sizes [$sizes_ integer [llength $reply_sizes]]]
    set request [lindex $requests_ [$sizes_ integer [llength $requests_]]]
    if {[llength $idle_]} {
        set transfer [lindex $idle_ end]
        set idle_ [lrange $idle_ 0 end-1]
    } else {
        set transfer [new Transfer $self $client_node_ $server_node_]
    }
    incr started_
    $transfer begin $request $reply
    $self schedule
}

Cloud instproc take_back {transfer} {
    $self instvar idle_
    lappend idle_ $transfer
}

Cloud instproc completed {request reply start handshake request_time end timeouts} {
    global records packet_bytes
    $self instvar name_ completed_ completion_times_ handshake_times_ timeouts_
    incr timeouts_ $timeouts
    lappend completion_times_($reply) [expr {$end - $start}]
    lappend handshake_times_ [expr {$handshake - $start}]
    incr completed_
    if {[info exists records]} {
        puts $records [join [list $name_ $start $handshake $request_time $end \
            [expr {$request * $packet_bytes}] [expr {$reply * $packet_bytes}]] ,]
    }
}

# Transfers that have started and not had their whole reply.
Cloud instproc open_transfers {} {
    $self instvar started_ completed_
    return [expr {$started_ - $completed_}]
}

# How many there were, the timeouts of both ends until the replies were complete, and what the
# transfers took in seconds: in all, and by reply size in packets.
Cloud instproc json {} {
    $self instvar started_ completed_ completion_times_ handshake_times_ timeouts_
    set all {}
    set by_size {}
    foreach size [lsort -integer [array names completion_times_]] {
        lappend by_size $size [summary_json $completion_times_($size)]
        set all [concat $all $completion_times_($size)]
    }
    return [json_object \
        started $started_ \
        completed $completed_ \
        open [$self open_transfers] \
        timeouts $timeouts_ \
        handshake_s [summary_json $handshake_times_] \
        completion_s [summary_json $all] \
        completion_by_packets_s [json_object {*}$by_size]]
}

proc configure_full_tcp {} {
    global settings packet_bytes
    configure_tcp
    Agent/TCP/FullTcp set segsize_ $packet_bytes
    Agent/TCP/FullTcp set segsperack_ [expr {$settings(delayed_ack) ? 2 : 1}]
    Agent/TCP/FullTcp set nodelay_ true
    # An acknowledgement of a full segment goes at once; the timer would only serve short ones.
    Agent/TCP/FullTcp set interval_ 0.1
    copy_defaults_to Endpoint
}

# A new agent looks for the default of each variable from its own class upwards, and every failure
# on the way costs time: having them all at the bottom makes agents three times as fast.
proc copy_defaults_to {class} {
    foreach ancestor [lreverse [$class info heritage]] {
        foreach variable [$ancestor info vars] {
            if {![$ancestor array exists $variable]} {
                $class set $variable [$ancestor set $variable]
            }
        }
    }
}
