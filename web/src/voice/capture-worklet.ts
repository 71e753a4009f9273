/** Runs in the audio thread: passes the sound of the microphone on, in pieces of a few hundredths of a second. */

declare class AudioWorkletProcessor {
  readonly port: MessagePort
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void

const pieceLength = 1_024

class Capture extends AudioWorkletProcessor {
  #piece = new Float32Array(pieceLength)
  #length = 0

  process([input]: Float32Array[][]): boolean {
    const samples = input?.[0]
    if (!samples) return true
    if (this.#length + samples.length > pieceLength) this.#send()
    this.#piece.set(samples, this.#length)
    this.#length += samples.length
    return true
  }

  #send(): void {
    this.port.postMessage(this.#piece.slice(0, this.#length))
    this.#length = 0
  }
}

registerProcessor('capture', Capture)
