/** A server of the Model Context Protocol, as the owner named it in the configuration. */
export type McpServerSettings = McpProgram | McpAddress

/** A program of this machine, spoken to over its standard input and output. */
export interface McpProgram {
  command: string
  args: readonly string[]
  /** Names of the variables that it is given, and no others. */
  environment: readonly string[]
}

export interface McpAddress {
  url: string
  /** Their values are secrets. */
  headers: Readonly<Record<string, string>>
}

export function isProgram(settings: McpServerSettings): settings is McpProgram {
  return 'command' in settings
}

/** What a server is, for the owner's word and without secrets: another program or address is another server. */
export function identityOf(settings: McpServerSettings): object {
  if (!isProgram(settings)) return { url: settings.url, headers: Object.keys(settings.headers).sort() }
  const { command, args, environment } = settings
  return { command, args, environment: [...environment].sort() }
}
