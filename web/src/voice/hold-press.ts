/** A press that is shorter is a tap: it begins, and the next one ends. Not everybody can hold a button. */
const tapMs = 350

export interface HoldPress {
  press(): void
  letGo(): void
  /** What was begun is over. */
  reset(): void
}

export function createHoldPress(needs: { begin(): void; release(): void; now(): number }): HoldPress {
  let pressedAt: number | undefined
  let isTapped = false
  return {
    press() {
      if (pressedAt !== undefined) return
      if (isTapped) {
        isTapped = false
        return needs.release()
      }
      pressedAt = needs.now()
      needs.begin()
    },
    letGo() {
      if (pressedAt === undefined) return
      isTapped = needs.now() - pressedAt < tapMs
      pressedAt = undefined
      if (!isTapped) needs.release()
    },
    reset() {
      pressedAt = undefined
      isTapped = false
    },
  }
}
