/** What one look found. */
export interface Finding {
  check: string
  state: 'ok' | 'warn' | 'fail'
  message: string
  /** The one command that would mend it. */
  mend?: string
}

export function ok(check: string, message: string): Finding {
  return { check, state: 'ok', message }
}

export function warn(check: string, message: string, mend?: string): Finding {
  return { check, state: 'warn', message, ...(mend !== undefined && { mend }) }
}

export function fail(check: string, message: string, mend?: string): Finding {
  return { check, state: 'fail', message, ...(mend !== undefined && { mend }) }
}

/** As a word of a shell command. */
export function quoted(path: string): string {
  return /^[\w./@%+=:-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
