const orders = /^(?:please,? )?(?:always|never|from now on|whenever i|when i ask|do not ever|don['’]t ever)\b/i
const whenAsked = /\b(?:when(?:ever)?|each time|every time) i ask\b/i
const preference = /\bi(?:['’]d| would)? (?:always )?prefer\b/i
const readCharacters = 300

/**
 * How much a memory is a wish that holds until it is taken back ("Always answer in metric units", "I prefer short
 * replies"): such a wish belongs to questions that share no word with it. Only what the user said counts: words of
 * others must not become a rule.
 */
export function standingWish({
  content,
  speaker,
  label,
}: {
  content: string
  speaker: string | null
  label: string
}): number {
  if (label === 'untrusted' || (speaker !== null && speaker !== 'user')) return 0
  const beginning = content.slice(0, readCharacters)
  if (orders.test(beginning) || whenAsked.test(beginning)) return 1
  return preference.test(beginning) ? 0.5 : 0
}
