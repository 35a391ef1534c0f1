"""Joints with no inertia behind them: always, or at some states."""
