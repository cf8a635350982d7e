"""Other libraries' models and answers, one module each, imported only when asked for.

``dimod`` (a sampler for D-Wave's tools), ``pgmpy``, ``pyagrum``, ``qiskit``, and ``lp`` (LP and
MPS files for any solver). scipy.sparse, networkx and dimod's models themselves are at home in
`mapreroot.Model`.
"""
