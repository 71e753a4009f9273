import { canonicalJson } from '../../base/json.ts'
import type { Projection } from './projection.ts'

/** Tools whose results show addresses as others wrote them. The model can assemble the output of a program. */
const sources: ReadonlySet<string> = new Set(['web_search', 'web_fetch'])

const minLength = 'http://a.b'.length

/**
 * Whether the conversation holds exactly this address from a source other than the model: in a message that the user
 * wrote, or in a search result or page. To read it then carries nothing new to its host (SEC-6). If the model wrote the
 * address first, a page could have echoed it, so it does not count.
 */
export function holdsAddress({ entries, results }: Projection, address: string): boolean {
  if (address.length < minLength) return false
  const holds = (text: string) => containsAddress(text, address)
  for (const entry of entries) {
    if (entry.role === 'user') {
      // A summary and a chosen option are the model's text, and untrusted text may come from a program that the model steered.
      if (entry.turnId !== null && !entry.isOthers && !entry.isChoice && entry.texts.some(holds)) return true
      continue
    }
    for (const part of entry.parts) {
      if (part.type === 'text' && holds(part.text)) return false
      if (part.type !== 'tool_call') continue
      const result = results[part.id]
      const isNew = !canonicalJson(part.input).includes(canonicalJson(address).slice(1, -1))
      if (isNew && result && !result.isError && sources.has(result.name) && holds(result.text)) return true
      // Later results may repeat what the model sent here.
      if (!isNew && result) return false
    }
  }
  return false
}

/** A character that would continue the address: `https://a.example/x` does not stand in `https://a.example/xyz`. */
const continues = /^[\p{L}\p{N}\-_~%/?#@!$&'*+=]/u
/** These continue it only if more of the address follows: at the end of a sentence they do not belong to it. */
const mayContinue = /^[.,;:]+[\p{L}\p{N}\-_~%/?#@!$&'*+=]/u

function containsAddress(text: string, address: string): boolean {
  for (let at = text.indexOf(address); at !== -1; at = text.indexOf(address, at + 1)) {
    const rest = text.slice(at + address.length, at + address.length + 20)
    const before = text.slice(Math.max(0, at - 1), at)
    if (!continues.test(rest) && !mayContinue.test(rest) && !/[\p{L}\p{N}]/u.test(before)) return true
  }
  return false
}
