"""The Streamlit viewer of a study: it draws audits and computes nothing."""
