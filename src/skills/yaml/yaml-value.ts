/** What YAML says, with every scalar as the text that stands there: what `yes`, `1.10` or `null` mean is the reader's business. */
export type YamlValue = string | YamlValue[] | { [key: string]: YamlValue }

/** What the text is not, in which of its lines. */
export class YamlProblem extends Error {
  readonly line: number
  constructor(line: number, message: string) {
    super(message)
    this.name = 'YamlProblem'
    this.line = line
  }
}
