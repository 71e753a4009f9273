const kinds = '(?:full|first|last|real|given|preferred|new)'
const owner = "(?:(?:the\\s+)?user(?:['’]?s)?|my)"
/** What may stand behind it, so that “User name for the router” is another thing. */
const end = '(?:\\s+is\\b.*|\\s*[:=–—-].*)?$'

const ownTitle = new RegExp(`^${owner}\\s+(?:${kinds}\\s+)?name${end}`, 'iu')
const bareTitle = new RegExp(`^(?:${kinds}\\s+)?name${end}`, 'iu')
const ownContent = new RegExp(
  `\\b${owner}\\s+(?:${kinds}\\s+)?name\\s+is\\b|\\b(?:user|they)\\s+(?:is|are|wants? to be|likes? to be|prefers? to be)\\s+called\\b|\\bcall (?:me|the user)\\b`,
  'iu',
)

/** Whether an entry tells what the user is called, and not a pet, a colleague or an account of theirs (CLIENT-3). */
export function isUsersName({ title, content }: { title: string; content: string }): boolean {
  const name = title.trim()
  return ownTitle.test(name) || (bareTitle.test(name) && ownContent.test(content))
}
