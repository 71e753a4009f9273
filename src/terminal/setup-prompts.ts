/** The number of lines that fit on a small terminal. */
const maxListLength = 12

/** How setup asks. */
export type SetupPrompts = Awaited<ReturnType<typeof openTerminalPrompts>>

/** Returns the problem of an answer. */
type Validate = (text: string) => string | undefined

/** Every question answers undefined when the user leaves with Ctrl-C. */
export async function openTerminalPrompts() {
  const clack = await import('@clack/prompts')
  const unlessCancelled = <T>(answer: T): Exclude<T, symbol> | undefined =>
    typeof answer === 'symbol' ? undefined : (answer as Exclude<T, symbol>)
  return {
    begin: (title: string) => clack.intro(title),
    end: (text: string) => clack.outro(text),
    show: (title: string, text: string) => clack.note(text, title),
    async choose(question: { message: string; options: { value: string; label: string; hint?: string }[] }) {
      // A long list is narrowed by typing.
      const isLong = question.options.length > maxListLength
      return unlessCancelled(
        await (isLong
          ? clack.autocomplete<string>({ ...question, maxItems: maxListLength })
          : clack.select<string>(question)),
      )
    },
    /** Shows that something is under way until it is over. */
    async during<T>(message: string, work: Promise<T>): Promise<T> {
      const spinner = clack.spinner()
      spinner.start(message)
      try {
        return await work
      } finally {
        spinner.stop(message)
      }
    },
    /** `initial` is the default, and pasted text replaces it. */
    async ask({ message, initial, validate }: { message: string; initial?: string; validate?: Validate }) {
      const answer = await clack.text({
        message,
        ...(initial !== undefined && { placeholder: initial, defaultValue: initial }),
        ...(validate && { validate: (text) => validate(text || (initial ?? '')) }),
      })
      return unlessCancelled(answer)?.trim()
    },
    /** Never shown while it is typed. */
    async askSecret({ message, validate }: { message: string; validate?: Validate }) {
      const answer = await clack.password({ message, ...(validate && { validate: (text) => validate(text ?? '') }) })
      return unlessCancelled(answer)?.trim()
    },
    confirm: async (message: string) => unlessCancelled(await clack.confirm({ message })),
  }
}
