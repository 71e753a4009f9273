/** What makes the agent's own prompt. The user may write it, the agent may not (SEC-4). */
const promptFiles = ['SOUL.md', 'AGENTS.md', 'USER.md', 'IDENTITY.md', 'TOOLS.md', 'HEARTBEAT.md', 'MEMORY.md']
const promptFolders = ['skills']

// File systems that fold case and forms, or leave out what nobody sees, take all of these for one name.
const ignorable = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu

function fold(name: string): string {
  return name.normalize('NFKC').replace(ignorable, '').toUpperCase().toLowerCase().normalize('NFKC').trim()
}

const foldedFiles = new Set(promptFiles.map(fold))
const foldedFolders = new Set(promptFolders.map(fold))

/** `names` is the way from the workspace down; `others` are further files that the config puts into a prompt. */
export function isPromptFile(names: readonly string[], others: readonly string[] = []): boolean {
  const [first = ''] = names
  if (foldedFolders.has(fold(first))) return true
  const way = names.map(fold).join('/')
  return foldedFiles.has(way) || others.some((other) => other.split('/').filter(Boolean).map(fold).join('/') === way)
}
