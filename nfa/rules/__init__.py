"""Update rules, one file each: functions ``(net, x, y, *, hyper..., rng) -> (dW, db)``, the direction to subtract."""
