//! Puts the parts together: store, models, tools, agents, policy.
