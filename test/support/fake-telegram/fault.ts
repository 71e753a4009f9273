/** How a call goes wrong. */
export type Fault =
  /** Not done: 400, 401, 403, 409, 429 with `retryAfter`, 5xx. */
  | { kind: 'refuse'; code: number; description?: string; retryAfter?: number; moveTo?: number }
  /** Not done, and answered by something that is not the Bot API. */
  | { kind: 'garbage'; status: number; body: string }
  /** Not done; the connection is cut. */
  | { kind: 'cut' }
  /** Not done and never answered. */
  | { kind: 'hang' }
  /** Done; then the connection is cut, so that the caller cannot know. */
  | { kind: 'drop' }

/** Which calls a fault is for: all that match, or the next `times` of them. */
export interface FaultRule {
  fault: Fault
  method?: string
  chatId?: number
  times?: number
}

export interface AskedCall {
  method: string
  chatId: number | null
}

/** Rules are asked in order; the first that fits is used up by one. */
export function createFaults() {
  const rules: { rule: FaultRule; left: number }[] = []
  let decide: (call: AskedCall) => Fault | undefined = () => undefined
  return {
    add(rule: FaultRule): void {
      rules.push({ rule, left: rule.times ?? 1 })
    },
    decideBy(next: (call: AskedCall) => Fault | undefined): void {
      decide = next
    },
    clear(): void {
      rules.length = 0
      decide = () => undefined
    },
    next(call: AskedCall): Fault | undefined {
      const at = rules.findIndex(
        ({ rule }) =>
          (rule.method === undefined || rule.method === call.method) &&
          (rule.chatId === undefined || rule.chatId === call.chatId),
      )
      const found = rules[at]
      if (!found) return decide(call)
      found.left -= 1
      if (found.left <= 0) rules.splice(at, 1)
      return found.rule.fault
    },
  }
}
