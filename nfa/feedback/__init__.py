"""Feedback: matrices B[l] that carry the error to each layer. They are stored, simulated as light, or never stored."""

from nfa.feedback.aligned import align_weights
from nfa.feedback.camera import Camera
from nfa.feedback.lighton import LightOnOPU, NoDevice
from nfa.feedback.matrices import LAWS, WithProduct, draw, draw_devices, draw_layerwise, project, wiring
from nfa.feedback.mirrors import ternarize, ternarize_relative
from nfa.feedback.never_stored import Unstored, project_unstored
from nfa.feedback.opu import OPU, optical

__all__ = [
    "LAWS",
    "OPU",
    "Camera",
    "LightOnOPU",
    "NoDevice",
    "Unstored",
    "WithProduct",
    "align_weights",
    "draw",
    "draw_devices",
    "draw_layerwise",
    "optical",
    "project",
    "project_unstored",
    "ternarize",
    "ternarize_relative",
    "wiring",
]
