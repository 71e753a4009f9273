import type { PinsReply } from '../../../src/protocol/asset-api.ts'

/** The pins with one of them at another place, counted from 1. */
export function movePin(pinned: PinsReply, label: string, position: number): PinsReply {
  const moved = pinned.pins.find((pin) => pin.label === label)
  if (!moved) return pinned
  const others = pinned.pins.filter((pin) => pin.label !== label)
  const pins = others.toSpliced(position - 1, 0, moved).map((pin, index) => ({ ...pin, position: index + 1 }))
  return { ...pinned, pins }
}
