// Files that people take away.

export { saveAs } from "../download";

/** A picture in SVG as PNG, twice as fine as it is large. */
export async function asPNG(svg: string): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.naturalWidth, 2 * image.naturalHeight];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((made) => (made ? resolve(made) : reject(new Error("This picture is too large for a PNG."))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}
