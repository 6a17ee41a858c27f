"""Did not divide by the length of the candidate."""

import numpy as np


# %% residuals
def residuals(h, basis):
    read = np.hstack([h, np.ones((len(h), 1))])
    return np.linalg.norm(read - (read @ basis.T) @ basis, axis=1)
