const approvals = new Set([
  ...['yes', 'yes please', 'yes do it', 'yes do that', 'yes go ahead', 'yes approve', 'yes approved', 'yes i approve'],
  ...['approve', 'approved', 'i approve', 'approve it', 'allow', 'allow it', 'go ahead', 'do it', 'please do'],
  ...['ja', 'oui', 'si', 'sí', 'sim', 'tak', 'да'],
])
const denials = new Set([
  ...['no', 'no thanks', 'no thank you', 'nope', 'never', 'no never', 'deny', 'denied', 'i deny', 'deny it', 'reject'],
  ...["don't", "no don't", 'do not', 'no do not', "don't do it", 'do not do it', 'stop', 'cancel', 'leave it'],
  ...['nein', 'non', 'não', 'nie', 'нет'],
])
const longest = 40

/**
 * What a message answers to being asked for approval: only the whole of it, in few and plain words. "ok" may be mere
 * courtesy, and "yes, but …" is something else again: whatever is not plain is no answer.
 */
export function readSpokenAnswer(text: string): 'approve' | 'deny' | undefined {
  if (text.length > longest) return undefined
  const words = text
    .trim()
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[.!]+$/, '')
    .replaceAll(/, ?/g, ' ')
    .replaceAll(/ +/g, ' ')
  if (approvals.has(words)) return 'approve'
  return denials.has(words) ? 'deny' : undefined
}
