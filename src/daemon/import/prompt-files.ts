/** The files of a workspace that stand in the prompt; the same names here and at both other agents. */
const promptFiles = ['SOUL.md', 'AGENTS.md', 'USER.md', 'IDENTITY.md', 'TOOLS.md', 'HEARTBEAT.md', 'MEMORY.md'] as const

export function isPromptFile(name: string): boolean {
  return promptFiles.some((file) => file === name)
}
