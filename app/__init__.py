"""Streamlit viewer: draws results, computes nothing."""
