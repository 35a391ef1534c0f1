"""The ground and what may touch it: public descriptions, and contact forces."""
