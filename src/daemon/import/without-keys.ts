// Known shapes of keys: OpenAI and those like it, GitHub, Slack, Amazon, Google, Telegram, signed tokens, private keys.
const shapes = [
  /\bsk-[\w-]{20,}/g,
  /\bgh[opsur]_\w{30,}|\bgithub_pat_\w{40,}/g,
  /\bxox[abeprs]-[\w-]{10,}/g,
  /\bA[KS]IA[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{35}/g,
  /\b\d{8,10}:[\w-]{35}(?![\w-])/g,
  /\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
]

/** The text without what has the shape of a key, and how many there were. Others than these it cannot know. */
export function withoutKeys(text: string): { text: string; count: number } {
  let count = 0
  let rest = text
  for (const shape of shapes) {
    rest = rest.replace(shape, () => {
      count += 1
      return '[a key was left out here]'
    })
  }
  return { text: rest, count }
}
