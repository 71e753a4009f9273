// The package declares types but ships none: these are the ones used here.
declare module 'onnxruntime-node' {
  export class Tensor {
    constructor(type: 'int64', data: BigInt64Array, shape: readonly number[])
    constructor(type: 'float32', data: Float32Array, shape: readonly number[])
    constructor(type: 'bool', data: Uint8Array, shape: readonly number[])
    readonly data: Float32Array
    readonly dims: readonly number[]
  }

  export class InferenceSession {
    static create(path: string, options: object): Promise<InferenceSession>
    run(
      inputs: Readonly<Record<string, Tensor>>,
      outputs?: readonly string[],
    ): Promise<Readonly<Record<string, Tensor>>>
  }
}
