def findings(role, content):
    return ()
