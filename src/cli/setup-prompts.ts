/** How setup asks. Every question answers undefined when the user leaves with Ctrl-C. */
export interface SetupPrompts {
  begin(title: string): void
  end(text: string): void
  show(title: string, text: string): void
  choose(question: {
    message: string
    options: readonly { value: string; label: string; hint?: string }[]
  }): Promise<string | undefined>
  /** `validate` answers what is wrong. */
  ask(question: {
    message: string
    initial?: string
    validate?: (text: string) => string | undefined
  }): Promise<string | undefined>
  /** Never shown while it is typed. */
  askSecret(question: { message: string; validate?: (text: string) => string | undefined }): Promise<string | undefined>
  confirm(message: string): Promise<boolean | undefined>
}

export async function openTerminalPrompts(): Promise<SetupPrompts> {
  const clack = await import('@clack/prompts')
  const unlessCancelled = <T>(answer: T): Exclude<T, symbol> | undefined =>
    typeof answer === 'symbol' ? undefined : (answer as Exclude<T, symbol>)
  return {
    begin: (title) => clack.intro(title),
    end: (text) => clack.outro(text),
    show: (title, text) => clack.note(text, title),
    choose: async ({ message, options }) =>
      unlessCancelled(await clack.select<string>({ message, options: [...options] })),
    ask: async ({ message, initial, validate }) =>
      unlessCancelled(
        await clack.text({
          message,
          ...(initial !== undefined && { initialValue: initial }),
          ...(validate && { validate: (text) => validate(text ?? '') }),
        }),
      )?.trim(),
    askSecret: async ({ message, validate }) =>
      unlessCancelled(
        await clack.password({ message, ...(validate && { validate: (text) => validate(text ?? '') }) }),
      )?.trim(),
    confirm: async (message) => unlessCancelled(await clack.confirm({ message })),
  }
}
