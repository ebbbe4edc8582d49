"""Files as GeNIe, Netica and Hugin write them, made by hand: for the tests of each format and for damage."""

from __future__ import annotations

import pytest

from plausible.errors import FormatError


def check_refused(parse, text, part, place=None):
    """The text is refused in words that hold this part, at this line and column."""
    with pytest.raises(FormatError) as raised:
        parse(text)
    assert part in raised.value.problem
    assert raised.value.line is not None
    assert place is None or (raised.value.line, raised.value.column) == place


DSL = r"""
net Lawn
{
 HEADER =
  {
   ID = Lawn;
   NAME = "The \"lawn\"";
   COMMENT = "by hand";
  };
 CREATION =
  {
  };
 NUMSAMPLES = 1000;
 SCREEN = { POSITION = { CENTER_X = 0; CENTER_Y = 0; }; COLOR = 16250597; };
 USER_PROPERTIES = { Author = "nobody; {really}"; };
 DOCUMENTATION = { };
 // property software none
 node Rain
  {
   TYPE = CPT;
   HEADER = { ID = Rain; NAME = "Does it rain?"; COMMENT = ""; };
   SCREEN =
    {
     POSITION = { CENTER_X = 107; CENTER_Y = 255; WIDTH = 83; HEIGHT = 58; };
     FONT = 1;
    };
   USER_PROPERTIES = { };
   PARENTS = ();
   DEFINITION = { NAMESTATES = (heavy, light, none); PROBABILITIES = (0.25000000, 0.25, 5e-1); };
   EXTRA_DEFINITION = { FAULT_NAMES = ("", ""); DOCUMENTATION = { }; DOCUMENTATION = { }; };
  };
 node Hose
  {
   TYPE = CPT;
   HEADER = { ID = Hose; NAME = "Hose"; };
   PARENTS = ();
   DEFINITION = { NAMESTATES = (on, off); PROBABILITIES = (0.5, 0.5); };
  };
 node Wet
  {
   TYPE = CPT;
   HEADER = { ID = Wet; };
   PARENTS = (Hose, Rain);
   DEFINITION =
    {
     NAMESTATES = (yes, no);
     PROBABILITIES = (0.99, 0.01, 0.9, 0.1, /* off */ 0.8, 0.2,
      0.7, 0.3, 0.6, 0.4, 0, 1);
    };
  };
 node Puddle
  {
   TYPE = TRUTHTABLE;
   PARENTS = (Wet, Hose);
   DEFINITION = { NAMESTATES = (deep, flat); RESULTINGSTATES = (deep, flat, flat, flat); };
  };
 OBSERVATION_COST = { node Rain { PARENTS = (); COSTS = (0.0); }; };
};
"""

DNE = r"""// ~->[DNET-1]->~

// File written by hand in the manner of the program

bnet Lawn {
AutoCompile = TRUE;
whenchanged = 1535042350;
title = "The lawn";
comment = "first line\
\nsecond \"line\"";

visual V1 {
    defdispform = BELIEFBARS;
    nodefont = font {shape= "Arial"; size= 9;};
    windowposn = (78, 78, 1376, 597);
    NodeSet Nature {BuiltIn = 1; Color = 0x00f8eed2;};
    };

node Rain {
    kind = NATURE;
    discrete = TRUE;
    chance = CHANCE;
    states = (none, light, heavy);
    statetitles = (, , "It pours");
    parents = ();
    probs =
        // none         light        heavy
          (0.5,         0.25,        0.25);
    title = "Does it rain?";
    whenchanged = 1535042350;
    belief = (0.5, 0.25, 0.25);
    visual V1 {
        center = (120, 60.5);
        height = 2;
        link 1 { path = ((1, 2), (3, 4)); };
        };
    };

node Hose {
    discrete = TRUE;
    numstates = 2;
    probs = (0.75, 0.25);
    };

node Depth {
    kind = NATURE;
    discrete = FALSE;
    chance = CHANCE;
    levels = (-INFINITY, 0, 2.5, INFINITY);
    inputs = (, H);
    parents = (Rain, Hose);
    probs =
        // Rain   Hose
        (((0.9, 0.1, 0),      // none state0
          (0.4, 0.5, 0.1)),
         ((0.3, 0.4, 0.3), (0.2, 0.4, 0.4)),
         ((0.1, 0.2, 0.7), (0, 0, 1)));
    };

node Boots {
    chance = DETERMIN;
    states = (yes, no);
    parents = (Rain);
    functable = (no, #0, yes);
    };

node TITLE1 {
    kind = CONSTANT;
    discrete = FALSE;
    title = "A title on the canvas";
    };
ElimOrder = (Rain, Hose, Depth);
};
"""

NET = r"""
% written by hand in the manner of the program
net
{
    node_size = (80 40);
    HR_Desc = "Lawns, 100% wet";
    name = "lawn";
    HR_Zoom_ZoomFactor = "100";
}

node Rain
{
    label = "does it \"rain\"?";
    position = (50 150);
    states = ("no" "yes, \\ of course");
    HR_State_0 = "";
}
discrete node Sprinkler { states = (off on full); subtype = number; state_values = (0 1 2); }
node Grass { states = ("dry" "wet"); HR_Desc = "a\nb"; }

potential (Rain)   { data = ( 0.8 0.2 ); }
potential ( Sprinkler | ) { data = (5e-1, .25, 0.25); experience = (10); }
potential (Grass | Rain Sprinkler)
{
    data = (((0.9 0.1)      % Rain=no  Sprinkler=off
             (0.4 0.6)      % Rain=no  Sprinkler=on
             (0.3 0.7))     % "(" is not counted here
            ((0.2 0.8)
             (0.1 0.9)
             (0 1)));
}
"""
