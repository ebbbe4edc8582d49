# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.inference.markov_chains.chain_kinds import Absorption as Absorption
from plausible.inference.markov_chains.chain_kinds import CommunicatingClass as CommunicatingClass
from plausible.inference.markov_chains.markov_chain import MarkovChain as MarkovChain
from plausible.inference.markov_chains.page_rank import SearchEngine as SearchEngine
from plausible.inference.markov_chains.page_rank import pagerank as pagerank
