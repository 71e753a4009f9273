/** To the child that holds the model: one text at a time, the next one after the answer. */
export interface ToChild {
  text: string
}

/** From the child: once whether it can work, then an answer to each text. */
export type FromChild =
  | { type: 'ready' }
  /** It ends by itself after this. */
  | { type: 'unusable'; message: string }
  | { type: 'embedded'; vector: Float32Array }
