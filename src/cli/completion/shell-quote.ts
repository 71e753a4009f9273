/** One word for sh, bash and zsh, whatever is in it. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** One word for fish, whose quotes know backslashes. */
export function quoteForFish(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
