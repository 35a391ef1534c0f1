"""Motions as MCAP files with ROS 2 messages, which Foxglove and `ros2 bag` play."""
