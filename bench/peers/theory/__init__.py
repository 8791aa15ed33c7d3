"""Theory as a peer: closed forms and small exact computations, written from papers and RFCs.

Nothing here simulates packets at random, and nothing is shared with Shortflow. Each function takes
the parameters of a case and gives figures by name, in seconds, packets and shares.
"""
