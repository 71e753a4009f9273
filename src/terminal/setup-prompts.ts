/** How setup asks. Every question answers undefined when the user leaves with Ctrl-C. */
export interface SetupPrompts {
  begin(title: string): void
  end(text: string): void
  show(title: string, text: string): void
  choose(question: {
    message: string
    options: readonly { value: string; label: string; hint?: string }[]
  }): Promise<string | undefined>
  /** Shows that something is under way until it is over. */
  during<T>(message: string, work: Promise<T>): Promise<T>
  /** `initial` is the default, and pasted text replaces it. `validate` returns the problem. */
  ask(question: {
    message: string
    initial?: string
    validate?: (text: string) => string | undefined
  }): Promise<string | undefined>
  /** Never shown while it is typed. */
  askSecret(question: { message: string; validate?: (text: string) => string | undefined }): Promise<string | undefined>
  confirm(message: string): Promise<boolean | undefined>
}

/** The number of lines that fit on a small terminal. */
const maxListLength = 12

export async function openTerminalPrompts(): Promise<SetupPrompts> {
  const clack = await import('@clack/prompts')
  const unlessCancelled = <T>(answer: T): Exclude<T, symbol> | undefined =>
    typeof answer === 'symbol' ? undefined : (answer as Exclude<T, symbol>)
  return {
    begin: (title) => clack.intro(title),
    end: (text) => clack.outro(text),
    show: (title, text) => clack.note(text, title),
    choose: async ({ message, options }) =>
      unlessCancelled(
        // A long list is narrowed by typing.
        await (options.length > maxListLength
          ? clack.autocomplete<string>({ message, options: [...options], maxItems: maxListLength })
          : clack.select<string>({ message, options: [...options] })),
      ),
    async during(message, work) {
      const spinner = clack.spinner()
      spinner.start(message)
      try {
        return await work
      } finally {
        spinner.stop(message)
      }
    },
    ask: async ({ message, initial, validate }) =>
      unlessCancelled(
        await clack.text({
          message,
          ...(initial !== undefined && { placeholder: initial, defaultValue: initial }),
          ...(validate && { validate: (text) => validate(text || (initial ?? '')) }),
        }),
      )?.trim(),
    askSecret: async ({ message, validate }) =>
      unlessCancelled(
        await clack.password({ message, ...(validate && { validate: (text) => validate(text ?? '') }) }),
      )?.trim(),
    confirm: async (message) => unlessCancelled(await clack.confirm({ message })),
  }
}
